"""What the model is asked, and how its answer is read."""
