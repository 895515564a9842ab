"""Rankings as people take them away: tables, files, pictures and a page."""
