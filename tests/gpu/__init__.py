"""What must hold on a machine with GPUs, checked there: `make check-gpu`."""
