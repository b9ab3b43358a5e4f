"""Pages that compare the field with offline runs and sock puppets: numbers, figures, and the texts behind them."""
