/** `zoneplane completion`: scripts for shells and the manual page, all made from the commands themselves. */
import { Argument, Command, type Option } from 'commander';
import { type CommandContext, example } from '../command.js';

/** Adds every command to a program. */
type AddAll = (program: Command, context: CommandContext) => Promise<void>;

/** A command with its path, such as `zone import`. */
interface Described {
  readonly path: readonly string[];
  readonly command: Command;
}

const PRINTERS = { bash: printBash, zsh: printZsh, fish: printFish, man: printManual } as const;

export function addCompletionCommand(program: Command, context: CommandContext, addAll: AddAll): void {
  program
    .command('completion')
    .addArgument(new Argument('<form>', 'bash, zsh, fish, or man for the manual page').choices(Object.keys(PRINTERS)))
    .addHelpText(
      'after',
      example(
        'zoneplane completion bash > /etc/bash_completion.d/zoneplane',
        'zoneplane completion zsh > /usr/local/share/zsh/site-functions/_zoneplane',
        'zoneplane completion fish > ~/.config/fish/completions/zoneplane.fish',
        'zoneplane completion man > /usr/local/share/man/man1/zoneplane.1',
      ),
    )
    .action(async (form: keyof typeof PRINTERS) => {
      const whole = new Command('zoneplane').description(program.description());
      await addAll(whole, context);
      context.terminal.write(PRINTERS[form](describe(whole, []), context.version));
    });
}

/** The command and all below it, outermost first. */
function describe(command: Command, path: readonly string[]): Described[] {
  const below = command.commands.flatMap((child) => describe(child, [...path, child.name()]));
  return [{ path, command }, ...below];
}

function visibleOptions({ options }: Command): readonly Option[] {
  return options.filter(({ hidden }) => !hidden);
}

/** What may follow the path: commands below it, and its options. */
function wordsAfter({ command }: Described): string[] {
  return [
    ...command.commands.map((child) => child.name()),
    ...visibleOptions(command).flatMap(({ long }) => long ?? []),
    '--help',
  ];
}

/** The longest path of commands that the words before the cursor spell decides; files complete what is no option. */
function printBash(commands: readonly Described[]): string {
  const cases = commands.map((entry) => `    '${entry.path.join(' ')}') words='${wordsAfter(entry).join(' ')}' ;;`);
  return `# bash completion for zoneplane
_zoneplane() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' words='' word known
  known='${commands.map(({ path }) => `|${path.join(' ')}|`).join('')}'
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    local longer="\${path:+$path }$word"
    [[ $known == *"|$longer|"* ]] && path=$longer
  done
  case $path in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -o filenames -F _zoneplane zoneplane
`;
}

function printZsh(commands: readonly Described[]): string {
  return `#compdef zoneplane
autoload -U +X bashcompinit && bashcompinit
${printBash(commands)}`;
}

function printFish(commands: readonly Described[]): string {
  const lines = commands.flatMap(({ path, command }) => {
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const names = command.commands.map((child) => child.name()).join(' ');
    const open = names === '' ? [] : [`not __fish_seen_subcommand_from ${names}`];
    const condition = [...seen, ...open].join('; and ');
    const when = condition === '' ? '' : ` -n '${condition}'`;
    return [
      ...command.commands.map(
        (child) => `complete -c zoneplane${when} -f -a ${child.name()} -d '${quoteFish(child.description())}'`,
      ),
      ...visibleOptions(command).map(({ long, description }) => {
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
  const sections = below.filter(({ command }) => command.commands.length === 0).map(manualOf);
  return `.TH ZONEPLANE 1 "" "zoneplane ${version}" "User Commands"
.SH NAME
zoneplane \\- ${roff(program!.command.description())}
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
0 done, 1 refused, 2 wrong usage.
`;
}

function manualOf({ path, command }: Described): string {
  const options = visibleOptions(command).map(
    ({ flags, description }) => `.RS\n.TP\n.B ${roff(flags)}\n${roff(description)}\n.RE\n`,
  );
  return `.TP\n.B zoneplane ${path.join(' ')} ${roff(command.usage().replace('[options] ', ''))}\n${roff(command.description())}\n${options.join('')}`;
}

/** Text that means itself in roff. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1');
}
