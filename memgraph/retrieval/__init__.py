"""What of a memory is relevant, and how it is said within a budget."""
