# bash-completion reads this file when somebody completes a word of mizan for the first time.
source <(/usr/bin/mizan completion bash)
