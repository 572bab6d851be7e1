"""Should I distribute this Keras training, how, and with which settings?"""
