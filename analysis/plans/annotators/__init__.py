"""Plans of studies of annotators: how sure agreement will be, by items, labels an item, and how accurate raters are."""
