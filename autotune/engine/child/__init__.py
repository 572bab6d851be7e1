"""What runs inside the processes of a trial: the standard library, TensorFlow and Keras alone."""
