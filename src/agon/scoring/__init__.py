"""What an answer is worth: the reward model, and whatever else gives answers scores."""
