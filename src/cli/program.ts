/** The command line as a whole: which commands there are, and how refusals leave the program. */
import { Command, CommanderError } from 'commander';
import { AppError, UserError } from '../base/errors.js';
import { explainStoreFailure } from '../roles/store-failure.js';
import { type CommandContext, example, readVersion } from './command.js';
import { addServeCommand } from './serve.js';
import { createTerminal, type OutputStream, type Terminal } from './terminal.js';

export interface CommandLine {
  /** Without interpreter and program. */
  readonly arguments: readonly string[];
  readonly program: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

const EXIT_CODES = `
Exit codes: 0 done, 1 refused, 2 wrong usage.
Every command says more with --help.`;

/** Runs one command line; resolves to the exit code: 0 done, 1 refused, 2 wrong usage. Rejects only on a bug. */
export async function runCommandLine(line: CommandLine): Promise<number> {
  const { stdout, stderr, environment } = line;
  const terminal = createTerminal({ stdout, stderr, environment });
  const context: CommandContext = {
    terminal,
    environment,
    program: line.program,
    version: readVersion(),
    isTerminal: stdout.isTTY === true,
  };
  try {
    const program = await createProgram(context, line.arguments[0]);
    await program.parseAsync([...line.arguments], { from: 'user' });
    return terminal.exitCode;
  } catch (error) {
    return explain(error, terminal);
  }
}

async function createProgram(context: CommandContext, first: string | undefined): Promise<Command> {
  const { terminal, version } = context;
  const program = new Command('zoneplane')
    .description('Authoritative DNS nameserver with an admin API that is wire-compatible with the v4 API')
    .version(version, '-V, --version', 'print the version')
    .showSuggestionAfterError(true)
    .showHelpAfterError('Add --help for usage and an example.')
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.complain(text.trimEnd()),
    })
    .addHelpText('after', EXIT_CODES)
    .exitOverride();
  addServeCommand(program, context);
  // A serving process shall load nothing that it does not need.
  if (first !== 'serve') await addOtherCommands(program, context);
  return program;
}

async function addOtherCommands(program: Command, context: CommandContext): Promise<void> {
  const { terminal, version } = context;
  const [
    zone,
    record,
    key,
    account,
    bucket,
    secret,
    explain,
    healthcheck,
    doctor,
    config,
    backup,
    vault,
    job,
    certificate,
    hostname,
  ] = await Promise.all([
    import('./zone.js'),
    import('./record.js'),
    import('./key.js'),
    import('./account.js'),
    import('./bucket.js'),
    import('./secret.js'),
    import('./explain.js'),
    import('./healthcheck.js'),
    import('./doctor.js'),
    import('./config.js'),
    import('./backup.js'),
    import('./vault.js'),
    import('./job.js'),
    import('./certificate.js'),
    import('./hostname.js'),
  ]);
  zone.addZoneCommands(program, context);
  record.addRecordCommands(program, context);
  key.addKeyCommands(program, context);
  account.addAccountCommands(program, context);
  bucket.addBucketCommands(program, context);
  secret.addSecretCommands(program, context);
  explain.addExplainCommand(program, context);
  healthcheck.addHealthcheckCommand(program, context);
  doctor.addDoctorCommand(program, context);
  config.addConfigCommands(program, context);
  backup.addBackupCommand(program, context);
  vault.addVaultCommands(program, context);
  job.addJobCommands(program, context);
  certificate.addCertificateCommands(program, context);
  hostname.addHostnameCommands(program, context);
  program
    .command('version')
    .description('print the version')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane version --json'))
    .action(({ json }: { json?: boolean }) => {
      if (json) terminal.json({ version, node: process.version });
      else terminal.print(version);
    });
}

function explain(failure: unknown, terminal: Terminal): number {
  const error = explainStoreFailure(failure);
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UserError) {
    terminal.complain(`zoneplane: ${error.message}`);
    if (error.remedy) terminal.complain(error.remedy);
    return error.exitCode;
  }
  if (error instanceof AppError) {
    terminal.complain(`zoneplane: ${error.message}`);
    for (const { message } of error.chain ?? []) terminal.complain(`  ${message}`);
    return 1;
  }
  throw error;
}
