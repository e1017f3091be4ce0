# Bash divides the line at `=`, `:` and `@`, too: these pieces become one word again, and the candidates lose what
# stands before the piece at the cursor.
_imagegen_complete() {
    local rest=$COMP_LINE joined=() before='' current='' previous='' cursor=0 index piece blanks
    for index in "${!COMP_WORDS[@]}"; do
        piece=${COMP_WORDS[index]}
        blanks=${rest%%[![:space:]]*}
        rest=${rest#"$blanks"}
        if [[ $index == 0 || -n $blanks || $rest != "$piece"* ]]; then
            joined+=("")
        fi
        rest=${rest#"$piece"}
        if [[ $index == "$COMP_CWORD" ]]; then
            cursor=$((${#joined[@]} - 1))
            before=${joined[cursor]}
            current=$before$2
            if [[ -n $before && -z ${piece//[=:@]/} ]]; then
                before+=$piece
                current=$before
            fi
        fi
        joined[${#joined[@]} - 1]+=$piece
    done
    if [[ $cursor -gt 0 ]]; then
        previous=${joined[cursor - 1]}
    fi

    local COMP_WORDS=("${joined[@]}") COMP_CWORD=$cursor
    _clap_complete_imagegen "$1" "$current" "$previous"
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
