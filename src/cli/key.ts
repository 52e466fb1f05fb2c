/** `zoneplane key`: credentials of the admin API. A secret is printed when it is made, and never again. */
import { Option } from 'commander';
import type { KeyItem } from '../control/access/item.js';
import { createKey, type KeyInput, listKeys, revokeKey } from '../control/access/keys.js';
import { PERMISSION_GROUPS } from '../control/guard/permissions.js';
import { gather, wholeNumber } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { DATA_SETTINGS, printInstant, requireZoneNamed, withControl } from './control.js';
import { addSettingOptions } from './settings.js';

interface CreateOptions {
  readonly kind: 'key' | 'token';
  readonly email?: string;
  readonly account?: string;
  readonly zone?: readonly string[];
  readonly readOnly?: boolean;
  readonly record?: readonly string[];
  readonly type?: readonly string[];
  readonly from?: readonly string[];
  readonly days?: number;
  readonly json?: boolean;
}

export function addKeyCommands(program: Command, context: CommandContext): void {
  const key = program.command('key');
  addCreate(key, context);
  addList(key, context);
  addRevoke(key, context);
}

function addCreate(key: Command, { terminal, environment }: CommandContext): void {
  const create = key
    .command('create')
    .description('create a credential and print its secret once')
    .argument('<name>', 'what it is for')
    .addOption(
      new Option('--kind <kind>', 'token: bearer token only; key: also with X-Auth-Email and X-Auth-Key')
        .choices(['token', 'key'])
        .default('token'),
    )
    .option('--email <address>', 'user it belongs to, created if there is none (default: the first administrator)')
    .option('--account <id>', 'limit it to one account')
    .option('--zone <name>', 'limit it to a zone; may be given several times', gather)
    .option('--read-only', 'allow reading only')
    .option('--record <pattern>', 'limit it to records of these full names; * stands for any characters', gather)
    .option('--type <type>', 'limit it to records of this type; may be given several times', gather)
    .option('--from <network>', 'accept it only from this network; may be given several times', gather)
    .addOption(
      new Option('--days <count>', 'let it expire after this many days').argParser(wholeNumber(1, 36500, 'days')),
    )
    .printsJson(
      'zoneplane key create terraform --zone example.com --days 90',
      "zoneplane key create certbot --zone example.com --record '_acme-challenge.*' --type TXT --from 192.0.2.0/24",
    );
  addSettingOptions(create, DATA_SETTINGS).action(async (name: string, options: CreateOptions) => {
    const made = await withControl(create, environment, async (context, settings) => {
      const zones = await Promise.all((options.zone ?? []).map((zone) => requireZoneNamed(context, zone)));
      return createKey(context, {
        name,
        kind: options.kind,
        email: options.email ?? settings.adminEmail,
        ...(options.account === undefined ? {} : { accountId: options.account }),
        ...limitsOf(
          options,
          zones.map(({ id }) => id),
        ),
        ...(options.from ? { networks: options.from } : {}),
        ...(options.days === undefined ? {} : { expiresAt: context.clock.nowUs() + options.days * 86_400_000_000 }),
      });
    });
    if (options.json) return terminal.json({ ...viewKey(made.key), secret: made.secret });
    terminal.print(made.secret);
    terminal.complain(`The secret of ${options.kind} '${name}' (${made.key.id}) is shown once; only its hash is kept.`);
    const use =
      options.kind === 'key' ? `X-Auth-Key, with X-Auth-Email: ${made.key.userEmail}` : 'Authorization: Bearer …';
    terminal.complain(`Clients send it as \`${use}\`. Revoke it with \`zoneplane key revoke ${made.key.id}\`.`);
  });
}

/** Limits to certain records are policies, as clients of the API write them; they come with those to zones. */
function limitsOf(
  { record: names, type: types, readOnly = false, account }: CreateOptions,
  zoneIds: readonly string[],
): Partial<KeyInput> {
  if (!names && !types) return { ...(zoneIds.length > 0 && { zoneIds }), ...(readOnly && { readOnly }) };
  const within = zoneIds.length > 0 ? zoneIds.map((id) => `zone.${id}`) : [account ?? 'zone.*'];
  const group = PERMISSION_GROUPS.find(({ name }) => name === (readOnly ? 'DNS Read' : 'DNS Write'))!;
  return {
    policies: [
      {
        effect: 'allow',
        permission_groups: [{ id: group.id }],
        resources: Object.fromEntries(within.map((resource) => [`com.cloudflare.api.account.${resource}`, '*'])),
        records: { ...(names && { names }), ...(types && { types }) },
      },
    ],
  };
}

function addList(key: Command, { terminal, environment }: CommandContext): void {
  const list = key
    .command('list')
    .description('list credentials; their secrets cannot be shown again')
    .printsJson('zoneplane key list');
  addSettingOptions(list, DATA_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const keys = await withControl(list, environment, listKeys);
    if (json) return terminal.json(keys.map(viewKey));
    terminal.table(
      ['id', 'kind', 'name', 'user', 'limits', 'status', 'created', 'expires', 'last used'],
      keys.map((entry) => [
        entry.id,
        entry.kind,
        entry.name,
        entry.userEmail,
        describeLimits(entry),
        entry.status,
        printInstant(entry.createdAt),
        printInstant(entry.expiresAt),
        printInstant(entry.lastUsedAt),
      ]),
      'There are no credentials.',
    );
  });
}

function addRevoke(key: Command, { terminal, environment }: CommandContext): void {
  const revoke = key
    .command('revoke')
    .description('revoke a credential at once and for good')
    .argument('<id>', 'identifier, as `key list` shows it')
    .printsJson('zoneplane key revoke 372e67954025e0ba6aaa6d586b9e0b59');
  addSettingOptions(revoke, DATA_SETTINGS).action(async (id: string, { json }: { json?: boolean }) => {
    const revoked = await withControl(revoke, environment, (context) => revokeKey(context, id));
    if (json) terminal.json(viewKey(revoked));
    else {
      terminal.print(`revoked ${revoked.kind} '${revoked.name}' of ${revoked.userEmail}`);
      terminal.print('Requests with it are refused now. See the others with `zoneplane key list`.');
    }
  });
}

function describeLimits({ accountId, zoneIds, readOnly, policies, networks }: KeyItem): string {
  const limits = [
    ...(readOnly ? ['read only'] : []),
    ...(accountId === null ? [] : [`account ${accountId}`]),
    ...(zoneIds === null ? [] : [counted(zoneIds.length, 'zone')]),
    ...(policies === null ? [] : [policies.length === 1 ? '1 policy' : `${policies.length} policies`]),
    ...(networks === null ? [] : [counted(networks.in.length + networks.notIn.length, 'network')]),
  ];
  return limits.length === 0 ? '-' : limits.join(', ');
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Instants as text, in the order people read. */
function viewKey(key: KeyItem): object {
  const { id, kind, name, userEmail, accountId, zoneIds, readOnly, policies, networks, status } = key;
  const instant = (atUs: number | null): string | null => (atUs === null ? null : printInstant(atUs));
  return {
    id,
    kind,
    name,
    user_email: userEmail,
    account_id: accountId,
    zone_ids: zoneIds,
    read_only: readOnly,
    policies,
    networks: networks && { in: networks.in, not_in: networks.notIn },
    status,
    created_on: instant(key.createdAt),
    expires_on: instant(key.expiresAt),
    revoked_on: instant(key.revokedAt),
    last_used_on: instant(key.lastUsedAt),
  };
}
