"""Small workloads of autotune's own, which measure one thing each on the user's machine.

Their modules are imported in the processes of trials only: they need TensorFlow.
"""
