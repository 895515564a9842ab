"""Battle logs as people have them, told apart by content and read into the columns that ranking takes."""
