#compdef mizan
# zsh calls this file as a function for each completion. The code of `mizan completion zsh` would only register one, so the
# function that it registers is called here.
autoload -U +X bashcompinit && bashcompinit
_bash_complete -o default -o bashdefault -C /usr/bin/mizan
