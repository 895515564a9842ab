"""What the pipeline of rounds is measured with."""
