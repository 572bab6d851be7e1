"""How many examples of rules begin and end."""

MIRRORED = """
import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
"""
WORKERS = MIRRORED.replace("MirroredStrategy", "MultiWorkerMirroredStrategy")
TRAIN_STEP = """

@tf.function
def train_step(images, labels):
    return strategy.run(replica_step, args=(images, labels))
"""
APPLY = """\
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
