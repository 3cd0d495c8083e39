"""Long-term memory for LangGraph agents."""
