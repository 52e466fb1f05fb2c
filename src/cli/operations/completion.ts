/** `zoneplane completion`: scripts for shells and the manual page, all made from the commands themselves. */
import { Argument } from 'commander';
import { SystemClock } from '../../base/clock.js';
import { Command, type CommandContext } from '../command.js';
import { type Described, describe, readDescribed } from './described.js';
import { quoteAlways } from './quote-shell.js';

/** Adds every command to a program. */
type AddAll = (program: Command, context: CommandContext) => Promise<void>;

const PRINTERS = { bash: printBash, zsh: printZsh, fish: printFish, man: printManual } as const;

export function addCompletionCommand(program: Command, context: CommandContext, addAll: AddAll): void {
  program
    .command('completion')
    .addArgument(new Argument('<form>', 'bash, zsh, fish, or man for the manual page').choices(Object.keys(PRINTERS)))
    .example(
      'zoneplane completion bash > /etc/bash_completion.d/zoneplane',
      'zoneplane completion zsh > /usr/local/share/zsh/site-functions/_zoneplane',
      'zoneplane completion fish > ~/.config/fish/completions/zoneplane.fish',
      'zoneplane completion man > /usr/local/share/man/man1/zoneplane.1',
    )
    .action(async (form: keyof typeof PRINTERS) => {
      const commands = readDescribed(context.version) ?? (await describeAll(program, context, addAll));
      context.terminal.write(PRINTERS[form](commands, context.version));
    });
}

async function describeAll(program: Command, context: CommandContext, addAll: AddAll): Promise<Described[]> {
  const whole = new Command('zoneplane').description(program.description());
  await addAll(whole, context);
  return describe(whole);
}

/** What may follow the path: commands below it, and its options. */
function wordsAfter({ below, options }: Described): string[] {
  return [...below.map(({ name }) => name), ...options.flatMap(({ long }) => long ?? []), '--help'];
}

/** Options whose value says where the zones are. */
const PLACES = ['--data-dir', '--config'];

/** All paths, for the search for the longest one that the words before the cursor spell. */
function pathsOf(commands: readonly Described[]): string {
  return commands.map(({ path }) => `|${path.join(' ')}|`).join('');
}

/**
 * The longest path of commands that the words before the cursor spell decides. Everything that is not an option is completed
 * with names of zones or files. Bash treats `=` as a word.
 */
function printBash(commands: readonly Described[]): string {
  const cases = commands.map((entry) => {
    // A command with others below it takes nothing else.
    const files = entry.below.length > 0 ? '' : ' files=yes';
    return `    '${entry.path.join(' ')}') words='${wordsAfter(entry).join(' ')}'${files} zones=${entry.zones} ;;`;
  });
  return `# bash completion for zoneplane
_zoneplane() {
  local current=\${COMP_WORDS[COMP_CWORD]} place='' words='' files='' zones=no word known previous='' given=''
  local -a where=()
  known='${pathsOf(commands)}'
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == '=' ]] && continue
    local longer="\${place:+$place }$word"
    if [[ $previous == ${PLACES[0]} || $previous == ${PLACES[1]} ]]; then where+=("$previous" "$word")
    elif [[ $known == *"|$longer|"* ]]; then place=$longer given=''
    elif [[ $word != -* && $previous != --* ]]; then given=yes
    fi
    previous=$word
  done
  case $place in
${cases.join('\n')}
  esac
  [[ $current == '=' ]] && current=''
  [[ $zones == one && -n $given || $previous == ${PLACES[0]} || $previous == ${PLACES[1]} ]] && zones=no
  if [[ $current != -* && $zones != no ]]; then
    words+=" $("\${COMP_WORDS[0]}" zone-names "\${where[@]}" -- "$current" 2>/dev/null)"
    files=''
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ $current == -* || -z $files ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -o filenames -F _zoneplane zoneplane
`;
}

/** Works from a directory of fpath and when it is sourced. */
function printZsh(commands: readonly Described[]): string {
  const explained = (word: string, description: string): string => quoteAlways(`${word}:${description}`);
  const cases = commands.map(({ path, below, options, zones }) => {
    const names = below.map(({ name, description }) => explained(name, description));
    const longs = options.flatMap(({ long, description }) => (long ? [explained(long, description)] : []));
    const more = `${below.length > 0 ? '' : ' files=yes'} zones=${zones}`;
    return `    '${path.join(' ')}') commands=(${names.join(' ')}) options=(${longs.join(' ')} '--help:print the help of the command')${more} ;;`;
  });
  return `#compdef zoneplane
_zoneplane() {
  local place='' files='' zones=no word longer known previous='' given=''
  local -a commands options where names none
  known='${pathsOf(commands)}'
  for word in "\${(@)words[2,CURRENT-1]}"; do
    longer="\${place:+$place }$word"
    if [[ $previous == (${PLACES.join('|')}) ]]; then where+=("$previous" "$word")
    elif [[ $word == (${PLACES.join('|')})=* ]]; then where+=("$word")
    elif [[ $known == *"|$longer|"* ]]; then place=$longer given=''
    elif [[ $word != -* && $previous != --* ]]; then given=yes
    fi
    previous=$word
  done
  case $place in
${cases.join('\n')}
  esac
  [[ ( $zones == one && -n $given ) || $previous == (${PLACES.join('|')}) ]] && zones=no
  if [[ $PREFIX != -* && $zones != no ]]; then
    files=''
    names=("\${(@f)$($words[1] zone-names $where -- "$PREFIX" 2>/dev/null)}")
    _describe -t zones zone names none
  fi
  _describe -t commands command commands
  [[ $PREFIX == -* ]] && _describe -o -t options option options
  [[ $PREFIX != -* && -n $files ]] && _files
}
if [[ $funcstack[1] == _zoneplane ]]; then _zoneplane "$@"; else compdef _zoneplane zoneplane; fi
`;
}

function printFish(commands: readonly Described[]): string {
  const lines = commands.flatMap(({ path, below, options, zones }) => {
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const names = below.map(({ name }) => name).join(' ');
    const open = names === '' ? [] : [`not __fish_seen_subcommand_from ${names}`];
    const condition = [...seen, ...open].join('; and ');
    const when = condition === '' ? '' : ` -n '${condition}'`;
    // The name of the program comes before the path.
    const isNext = zones === 'many' ? '-gt' : '-eq';
    const next = `test (count (commandline -opc)) ${isNext} ${path.length + (isNext === '-eq' ? 1 : 0)}`;
    const ofZones = `complete -c zoneplane -n '${[...seen, next].join('; and ')}' -f -a '(zoneplane zone-names -- (commandline -ct) 2>/dev/null)' -d zone`;
    return [
      ...(zones === 'no' ? [] : [ofZones]),
      ...below.map(
        ({ name, description }) => `complete -c zoneplane${when} -f -a ${name} -d '${quoteFish(description)}'`,
      ),
      ...options.map(({ long, description }) => {
        const onlyHere = seen.length === 0 ? '' : ` -n '${seen.join('; and ')}'`;
        return `complete -c zoneplane${onlyHere} -l ${long?.slice(2)} -d '${quoteFish(description)}'`;
      }),
    ];
  });
  return `# fish completion for zoneplane\n${lines.join('\n')}\n`;
}

function quoteFish(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
}

/** The manual page, in the macros of man(7). */
function printManual(commands: readonly Described[], version: string): string {
  const [program, ...below] = commands;
  const sections = below.filter((entry) => entry.below.length === 0).map(manualOf);
  const today = new Date(new SystemClock().nowMs()).toISOString().slice(0, 10);
  return `.TH ZONEPLANE 1 ${today} "zoneplane ${version}" "User Commands"
.SH NAME
zoneplane \\- ${roff(program!.description)}
.SH SYNOPSIS
.B zoneplane
.I command
[\\fIarguments\\fR] [\\fIoptions\\fR]
.SH COMMANDS
${sections.join('')}.SH FILES
.TP
.I /etc/zoneplane/zoneplane.yaml
Settings, unless another file is named.
.SH EXIT STATUS
0 done, 1 refused, 2 wrong usage, 130 interrupted.
`;
}

function manualOf({ path, description, usage, options }: Described): string {
  const explained = options.map(
    ({ flags, description }) => `.RS\n.TP\n.B ${escapeRoff(flags)}\n${roff(description)}\n.RE\n`,
  );
  const words = escapeRoff(usage.replace('[options] ', ''));
  return `.TP\n.B zoneplane ${path.join(' ')} ${words}\n${roff(description)}\n${explained.join('')}`;
}

/** Text that means itself in roff, in one line. */
function escapeRoff(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
}

const LONGEST_LINE = 80;

/** The same in several lines, none of which is taken for a macro. */
function roff(text: string): string {
  const lines: string[] = [];
  for (const word of escapeRoff(text).split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < LONGEST_LINE) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => line.replace(/^([.'])/, '\\&$1')).join('\n');
}
