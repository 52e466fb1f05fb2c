/**
 * All commands by name. A command line loads the one that it names and nothing else, and the overview loads none, so that both
 * start at once.
 */
import type { Command, CommandContext } from './command.js';
import { commandsToLoad, complainUnknown } from './usage/suggestion.js';

type AddCommand = (program: Command, context: CommandContext) => void;

interface Listed {
  readonly description: string;
  /** Not for people. */
  readonly isHidden?: true;
  readonly load: () => Promise<AddCommand>;
}

/** In the order of the help. */
const COMMANDS: ReadonlyMap<string, Listed> = new Map(
  Object.entries<Listed>({
    serve: {
      description: 'serve DNS, the admin API and the edge until a signal comes (SIGTERM drains, a second one forces)',
      load: async () => (await import('./serve.js')).addServeCommand,
    },
    zone: {
      description: 'import, check, transfer, export, list, create and delete zones',
      load: async () => (await import('./zone.js')).addZoneCommands,
    },
    record: {
      description: 'list, add, update and delete records of a zone',
      load: async () => (await import('./record.js')).addRecordCommands,
    },
    lb: {
      description: 'create, list, drain and delete load balancers; show the health of their pools',
      load: async () => (await import('./balancing/lb.js')).addLbCommands,
    },
    key: {
      description: 'create, list and revoke credentials of the admin API',
      load: async () => (await import('./key.js')).addKeyCommands,
    },
    dashboard: {
      description: 'sign in to the dashboard',
      load: async () => (await import('./operations/dashboard.js')).addDashboardCommands,
    },
    user: {
      description: 'add, list and suspend users; let them sign in: passwords, links, lost second factors',
      load: async () => (await import('./people/user.js')).addUserCommands,
    },
    sso: {
      description: 'identity providers at which people sign in',
      load: async () => (await import('./people/sso.js')).addSsoCommands,
    },
    member: {
      description: 'who may do what in an account: members and their roles',
      load: async () => (await import('./people/member.js')).addMemberCommands,
    },
    account: {
      description: 'create, list and delete accounts',
      load: async () => (await import('./account.js')).addAccountCommands,
    },
    bucket: {
      description: 'create, list and delete buckets; bind one to the application',
      load: async () => (await import('./bucket.js')).addBucketCommands,
    },
    secret: {
      description: 'set, list and delete secrets of the bucket application',
      load: async () => (await import('./secret.js')).addSecretCommands,
    },
    explain: {
      description: 'show which zone and records decide an answer, and the answer itself',
      load: async () => (await import('./explain.js')).addExplainCommand,
    },
    healthcheck: {
      description: 'query the running server over HTTP and DNS; exit 0 if both answer',
      load: async () => (await import('./healthcheck.js')).addHealthcheckCommand,
    },
    doctor: {
      description: 'check settings, data directory, database, ports and resolvers; exit 1 if something fails',
      load: async () => (await import('./doctor.js')).addDoctorCommand,
    },
    config: {
      description: 'show the settings',
      load: async () => (await import('./config.js')).addConfigCommands,
    },
    backup: {
      description: 'copy the database, and the bodies of large objects, consistently, while the server runs',
      load: async () => (await import('./operations/backup.js')).addBackupCommand,
    },
    restore: {
      description: 'put a backup into a data directory that has no database, after checking that it is whole',
      load: async () => (await import('./operations/restore.js')).addRestoreCommand,
    },
    vault: {
      description: 'the master key that seals private keys in the database',
      load: async () => (await import('./vault.js')).addVaultCommands,
    },
    job: {
      description: 'work that the server does later',
      load: async () => (await import('./job.js')).addJobCommands,
    },
    certificate: {
      description: 'certificates of hostnames, zones and services',
      load: async () => (await import('./certificate.js')).addCertificateCommands,
    },
    ca: {
      description: 'certificate authorities',
      load: async () => (await import('./certificate.js')).addAuthorityCommands,
    },
    hostname: {
      description: "custom hostnames: customers' names that a zone serves",
      load: async () => (await import('./hostname.js')).addHostnameCommands,
    },
    template: {
      description: 'named sets of records with variables: import, apply to zones, preview, export',
      load: async () => (await import('./zones/template.js')).addTemplateCommands,
    },
    redirect: {
      description: 'redirects of zones at the edge, and what rules do with a URL',
      load: async () => (await import('./redirect.js')).addRedirectCommands,
    },
    cluster: {
      description: 'several nodes that share a log in PostgreSQL',
      load: async () => (await import('./cluster/cluster.js')).addClusterCommands,
    },
    dnssec: {
      description: 'sign zones, replace their keys, verify signed zone files',
      load: async () => (await import('./dnssec/dnssec.js')).addDnssecCommands,
    },
    webhook: {
      description: 'send events to URLs, test them, and list deliveries',
      load: async () => (await import('./operations/webhook.js')).addWebhookCommands,
    },
    events: {
      description: 'print past events, and follow new ones',
      load: async () => (await import('./operations/events.js')).addEventsCommand,
    },
    secondary: {
      description: 'other name servers that serve our zones',
      load: async () => (await import('./secondary/secondary.js')).addSecondaryCommands,
    },
    tsig: {
      description: 'keys that sign zone transfers, NOTIFY and dynamic updates',
      load: async () => (await import('./secondary/tsig.js')).addTsigCommands,
    },
    'import-config': {
      description: 'take over zones, keys and secondaries from the configuration of BIND, NSD, Knot or PowerDNS',
      load: async () => (await import('./moving/import-config.js')).addImportConfigCommand,
    },
    completion: {
      description: 'print the completion script of a shell, or the manual page',
      load: async () => {
        const { addCompletionCommand } = await import('./operations/completion.js');
        return (program, context) => addCompletionCommand(program, context, addAllCommands);
      },
    },
    'zone-names': {
      description: 'print names of zones, for the completion of shells',
      isHidden: true,
      load: async () => (await import('./operations/zone-names.js')).addZoneNamesCommand,
    },
    version: {
      description: 'print the version',
      load: async () => (await import('./operations/version.js')).addVersionCommand,
    },
  }),
);

/** Options that need no command. */
const VERSION_OPTIONS: ReadonlySet<string | undefined> = new Set(['-V', '--version']);

/** The name of the command that a command line is about; `help` is about the one that follows it. */
function nameOf([first, second]: readonly string[]): string {
  if (VERSION_OPTIONS.has(first)) return 'version';
  return (first === 'help' ? second : first) ?? '';
}

async function addCommand(program: Command, context: CommandContext, name: string, listed: Listed): Promise<void> {
  (await listed.load())(program, context);
  program.commands.find((command) => command.name() === name)!.description(listed.description);
}

/**
 * Adds the command that a command line is about. When it names none, adds all names, for the help; when it names an unknown one,
 * also what a suggestion needs.
 */
export async function addCommands(program: Command, context: CommandContext, typed: readonly string[]): Promise<void> {
  const name = nameOf(typed);
  const named = COMMANDS.get(name);
  if (named) await addCommand(program, context, name, named);
  else {
    const visible = [...COMMANDS].filter(([, { isHidden }]) => !isHidden);
    const whole =
      name === ''
        ? []
        : commandsToLoad(
            name,
            visible.map(([other]) => other),
          );
    for (const [other, listed] of visible) {
      if (whole.includes(other)) await addCommand(program, context, other, listed);
      else program.command(other).description(listed.description);
    }
  }
  explainUnknownCommands(program);
  if (typed[0] === 'help' && named === undefined && name !== '') refuseUnknown(program, [name]);
}

/** Below a group of commands, and at the top, words that are not a command get a suggestion. */
function explainUnknownCommands(group: Command): void {
  if (group.commands.length === 0) return;
  group.on('command:*', (words: readonly string[]) => refuseUnknown(group, words));
  for (const child of group.commands) explainUnknownCommands(child);
}

function refuseUnknown(group: Command, words: readonly string[]): never {
  return group.error(complainUnknown(group, words), { exitCode: 2, code: 'commander.unknownCommand' });
}

export async function addAllCommands(program: Command, context: CommandContext): Promise<void> {
  for (const [name, listed] of COMMANDS) if (!listed.isHidden) await addCommand(program, context, name, listed);
}
