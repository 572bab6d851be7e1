"""Birds told from sound: spectra that are computed as it is read, and convolutions over time."""

import keras
import numpy as np
import tensorflow as tf

CLIPS = 1536
SAMPLES = 8000
FRAME, STEP = 256, 128
FRAMES, BINS = (SAMPLES - FRAME) // STEP + 1, FRAME // 2 + 1
BIRDS = 20


def model_fn(filters: int = 32) -> keras.Model:
    """Build and compile three convolutions over time and a classifier."""
    model = keras.Sequential([keras.Input((FRAMES, BINS)), keras.layers.BatchNormalization()])
    for size in (filters, filters, 2 * filters):
        model.add(keras.layers.Conv1D(size, 5, padding="same", activation="relu"))
        model.add(keras.layers.MaxPooling1D())
    model.add(keras.layers.GlobalAveragePooling1D())
    model.add(keras.layers.Dense(BIRDS))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return the spectra of random sound, shifted anew in each epoch, with random labels."""
    rng = np.random.default_rng(0)
    sound = rng.integers(-(2**15), 2**15, size=(CLIPS, SAMPLES), dtype=np.int16)
    birds = rng.integers(BIRDS, size=CLIPS)

    def spectrum(clip: tf.Tensor, bird: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        shift = tf.random.uniform((), maxval=SAMPLES, dtype=tf.int32)
        wave = tf.roll(tf.cast(clip, tf.float32) / 2**15, shift, axis=0)
        return tf.math.log1p(tf.abs(tf.signal.stft(wave, FRAME, STEP))), bird

    clips = tf.data.Dataset.from_tensor_slices((sound, birds)).shuffle(CLIPS)
    return clips.map(spectrum, num_parallel_calls=num_parallel_calls)
