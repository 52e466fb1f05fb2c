/** The command line as a whole: which commands there are, and how refusals leave the program. */
import { CommanderError } from 'commander';
import { AppError, UserError } from '../base/errors.js';
import { Command, type CommandContext, readVersion } from './command.js';
import { addCommands } from './commands.js';
import { createTerminal, type OutputStream, type Terminal } from './terminal.js';
import { HELP_LAYOUT } from './usage/help.js';

export interface CommandLine {
  /** Without interpreter and program. */
  readonly arguments: readonly string[];
  readonly program: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

export const DESCRIPTION = 'Authoritative DNS nameserver with an admin API that is wire-compatible with the v4 API';

const EXIT_CODES = `
Exit codes: 0 done, 1 refused, 2 wrong usage, 130 interrupted.
Every command says more with --help.`;

/** Runs one command line; resolves to the exit code: 0 done, 1 refused, 2 wrong usage, 130 interrupted. Rejects only on a bug. */
export async function runCommandLine(line: CommandLine): Promise<number> {
  const { stdout, stderr, environment } = line;
  const terminal = createTerminal({ stdout, stderr, environment });
  const context: CommandContext = {
    terminal,
    environment,
    program: line.program,
    version: readVersion(),
    isTerminal: stdout.isTTY === true,
    width: (stdout.isTTY && stdout.columns) || 80,
  };
  try {
    const program = await createProgram(context, line.arguments);
    await program.parseAsync([...line.arguments], { from: 'user' });
    return terminal.exitCode;
  } catch (error) {
    return explain(error, terminal);
  }
}

async function createProgram(context: CommandContext, typed: readonly string[]): Promise<Command> {
  const { terminal, version } = context;
  const program = new Command('zoneplane')
    .description(DESCRIPTION)
    .version(version, '-V, --version', 'print the version')
    .showSuggestionAfterError(true)
    .showHelpAfterError('Add --help for usage and an example.')
    .configureHelp(HELP_LAYOUT)
    .configureOutput({
      getOutHelpWidth: () => context.width,
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.complain(text.trimEnd()),
    })
    .addHelpText('after', EXIT_CODES)
    .exitOverride();
  await addCommands(program, context, typed);
  return program;
}

async function explain(failure: unknown, terminal: Terminal): Promise<number> {
  if (failure instanceof CommanderError) return failure.exitCode === 0 ? 0 : 2;
  const { explainStoreFailure } = await import('../roles/process/store-failure.js');
  const error = explainStoreFailure(failure);
  if (error instanceof UserError) {
    terminal.complain(`zoneplane: ${error.message}`);
    if (error.remedy) terminal.complain(error.remedy);
    return error.exitCode;
  }
  if (error instanceof AppError) {
    // The message of an error with a chain says only that something is wrong; the chain says what.
    const reasons = error.chain?.length ? error.chain.map(({ message }) => message) : [error.message];
    for (const reason of reasons) terminal.complain(`zoneplane: ${reason}`);
    return 1;
  }
  throw error;
}
