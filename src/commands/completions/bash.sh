# As the shell reads a word with `\` before a blank. In a word with quotes, `\` means itself.
_imagegen_unescape() {
    if [[ $word != *[\"\']* ]]; then word=${word//\\/}; fi
}

# Bash divides the line at `=`, `:` and `@`, too: these pieces become one word again, and the candidates lose what
# stands before the piece at the cursor. Bash writes a candidate as it is, so that blanks and `$` need a `\`.
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
    local word
    for index in "${!joined[@]}"; do
        word=${joined[index]} && _imagegen_unescape && joined[index]=$word
    done
    word=$before && _imagegen_unescape && before=$word
    word=$current && _imagegen_unescape && current=$word
    if [[ $cursor -gt 0 ]]; then
        previous=${joined[cursor - 1]}
    fi

    # A word in quotes is closed by bash, and needs nothing else.
    local is_quoted=''
    if [[ ${COMP_WORDS[COMP_CWORD]} == *[\"\']* ]]; then is_quoted=true; fi
    local COMP_WORDS=("${joined[@]}") COMP_CWORD=$cursor
    _clap_complete_imagegen "$1" "$current" "$previous"
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
    if [[ -n $is_quoted ]]; then return; fi
    for index in "${!COMPREPLY[@]}"; do
        word=${COMPREPLY[index]}
        if [[ $word == *[[:space:]\"\'\`\\\$\&\;\|\<\>\(\)\*\?\[\]\!]* ]]; then
            printf -v "COMPREPLY[index]" %q "$word"
        fi
    done
}
