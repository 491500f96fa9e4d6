"""What is learned from it: trajectories to SFT and on-policy distillation."""
