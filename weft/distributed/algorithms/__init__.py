"""What is done around collectives."""
