/** All commands by name. A command line loads the one it names and nothing else, so that it starts at once. */
import type { Command } from 'commander';
import type { CommandContext } from './command.js';

type AddCommand = (program: Command, context: CommandContext) => void;

/** In the order of the help. */
const COMMANDS: ReadonlyMap<string, () => Promise<AddCommand>> = new Map([
  ['serve', async () => (await import('./serve.js')).addServeCommand],
  ['zone', async () => (await import('./zone.js')).addZoneCommands],
  ['record', async () => (await import('./record.js')).addRecordCommands],
  ['key', async () => (await import('./key.js')).addKeyCommands],
  ['dashboard', async () => (await import('./operations/dashboard.js')).addDashboardCommands],
  ['account', async () => (await import('./account.js')).addAccountCommands],
  ['bucket', async () => (await import('./bucket.js')).addBucketCommands],
  ['secret', async () => (await import('./secret.js')).addSecretCommands],
  ['explain', async () => (await import('./explain.js')).addExplainCommand],
  ['healthcheck', async () => (await import('./healthcheck.js')).addHealthcheckCommand],
  ['doctor', async () => (await import('./doctor.js')).addDoctorCommand],
  ['config', async () => (await import('./config.js')).addConfigCommands],
  ['backup', async () => (await import('./operations/backup.js')).addBackupCommand],
  ['restore', async () => (await import('./operations/restore.js')).addRestoreCommand],
  ['vault', async () => (await import('./vault.js')).addVaultCommands],
  ['job', async () => (await import('./job.js')).addJobCommands],
  ['certificate', async () => (await import('./certificate.js')).addCertificateCommands],
  ['ca', async () => (await import('./certificate.js')).addAuthorityCommands],
  ['hostname', async () => (await import('./hostname.js')).addHostnameCommands],
  ['cluster', async () => (await import('./cluster/cluster.js')).addClusterCommands],
  ['dnssec', async () => (await import('./dnssec/dnssec.js')).addDnssecCommands],
  ['secondary', async () => (await import('./secondary/secondary.js')).addSecondaryCommands],
  ['tsig', async () => (await import('./secondary/tsig.js')).addTsigCommands],
  [
    'completion',
    async () => {
      const { addCompletionCommand } = await import('./operations/completion.js');
      const addAll = (program: Command, context: CommandContext) => addCommands(program, context, undefined);
      return (program, context) => addCompletionCommand(program, context, addAll);
    },
  ],
  ['version', async () => (await import('./operations/version.js')).addVersionCommand],
]);

/** Options that need no command. */
const VERSION_OPTIONS: ReadonlySet<string | undefined> = new Set(['-V', '--version']);

/** Adds the command that a command line begins with; all of them when it names none, for the help and for suggestions. */
export async function addCommands(program: Command, context: CommandContext, first: string | undefined): Promise<void> {
  const named = COMMANDS.get(VERSION_OPTIONS.has(first) ? 'version' : (first ?? ''));
  for (const load of named ? [named] : COMMANDS.values()) (await load())(program, context);
}
