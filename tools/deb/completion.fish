# fish reads this file when somebody completes a word of mizan for the first time.
/usr/bin/mizan completion fish | source
