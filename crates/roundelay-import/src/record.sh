#!/bin/sh
# Records a command in place of running it. Linked to the names of tc, ip and others in a folder at
# the front of PATH, it writes what a script would have run, and changes nothing.
log=${ROUNDELAY_RECORD:-/tmp/commands.sh}
name=${0##*/}

quoted() {
    case $1 in
        '' | *[!A-Za-z0-9_@%+=:,./-]*) printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")" ;;
        *) printf %s "$1" ;;
    esac
}

# A file that is not there is an error, as it is for the program itself, so that scripts see it.
needs() {
    [ -r "$1" ] && [ ! -d "$1" ] && return
    printf '%s: cannot read %s\n' "$name" "$1" >&2
    exit 1
}

# The lines of a batch are commands too.
batch() {
    sed -e 's/^[[:blank:]]*//' -e '/^$/d' -e '/^#/d' -e "s/^/$name /" >> "$log"
    exit 0
}

# A file of rules is one command with all its lines.
rules() {
    {
        printf '%s\n' "nft$defined -f - <<'END_OF_RULES'"
        cat "$1"
        printf '\n%s\n' END_OF_RULES
    } >> "$log"
    exit 0
}

# Reads the options of nft up to its command: the letter in $1 with the value in $2.
option() {
    case $1 in
        f) file=$2 ;;
        c) checks=1 ;;
        D) defined="$defined -D $(quoted "$2")" ;;
    esac
}

options() {
    file= checks= defined=
    while [ $# -gt 0 ]; do
        case $1 in
            --) return ;;
            --f | --fi | --fil | --file) option f "$2" && shift ;;
            --def | --defi | --defin | --define) option D "$2" && shift ;;
            --inc* | --deb*) case $1 in *=*) ;; *) [ $# -gt 1 ] && shift ;; esac ;;
            --f*=*) option f "${1#*=}" ;;
            --def*=*) option D "${1#*=}" ;;
            --c*) option c '' ;;
            --*) ;;
            -?*)
                letters=${1#-}
                while [ -n "$letters" ]; do
                    rest=${letters#?}
                    letter=${letters%"$rest"}
                    letters=$rest
                    case $letter in
                        [fDId])
                            letters=
                            if [ -n "$rest" ]; then
                                option "$letter" "$rest"
                            elif [ $# -gt 1 ]; then
                                option "$letter" "$2"
                                shift
                            fi
                            ;;
                        *) option "$letter" '' ;;
                    esac
                done
                ;;
            *) return ;;
        esac
        [ $# -gt 0 ] && shift
    done
}

if [ "$name" = nft ]; then
    options "$@"
    if [ -n "$file" ]; then
        [ "$file" = - ] && file=/dev/stdin
        needs "$file"
        [ -n "$checks" ] || rules "$file"
    fi
fi

# Reads the options of iptables-restore. Those that only test or print record nothing.
restores() {
    line=$name file=/dev/stdin tests=
    while [ $# -gt 0 ]; do
        takes=
        case $1 in
            --test | --help | --version) tests=1 ;;
            --table | --modprobe) takes=any ;;
            --wait | --wait-interval) takes=number ;;
            --*) ;;
            -*[TM]) takes=any ;;
            -*[wW]) takes=number ;;
            -?*) ;;
            *) file=$1 ;;
        esac
        case $1 in
            --*) ;;
            -[TM]*) ;;
            -*[thV]*) tests=1 ;;
        esac
        case $1 in -?*) line="$line $(quoted "$1")" ;; esac
        case $takes,${2-} in
            ,* | *,) ;;
            number,*[!0-9]*) ;;
            *)
                line="$line $(quoted "$2")"
                shift
                ;;
        esac
        shift
    done
    [ "$file" = - ] && file=/dev/stdin
}

case $name in
    *-restore)
        restores "$@"
        [ -n "$tests" ] && exit 0
        needs "$file"
        {
            printf '%s\n' "$line <<'END_OF_RULES'"
            cat "$file"
            printf '\n%s\n' END_OF_RULES
        } >> "$log"
        exit 0
        ;;
esac

line=$name
previous=
for word; do
    case $name$previous in
        *-b | *-batch)
            [ "$word" = - ] && batch
            needs "$word"
            batch < "$word"
            ;;
    esac
    previous=$word
    line="$line $(quoted "$word")"
done
case $previous in
    -b | -batch | --batch) batch ;;
esac
printf '%s\n' "$line" >> "$log"

# There is no configuration, so a script takes its defaults.
case " $* " in
    *' get '* | *' show '*) [ "$name" != uci ] ;;
esac
