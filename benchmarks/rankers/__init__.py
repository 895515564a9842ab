"""The parts of the ranking benchmark that run in processes of their own."""
