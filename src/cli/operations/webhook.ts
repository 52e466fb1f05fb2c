/** `zoneplane webhook`: manages webhooks, which get events, and shows their deliveries. */
import { createPolicy, deletePolicy, listPolicies } from '../../alerts/policies.js';
import { createSender } from '../../alerts/send.js';
import { testWebhook } from '../../alerts/send-alert.js';
import { ALERT_TYPES } from '../../alerts/types.js';
import { createWebhook, deleteWebhook, listDeliveries, listWebhooks } from '../../alerts/webhooks.js';
import { toHex } from '../../base/bytes.js';
import { UserError } from '../../base/errors.js';
import type { Context } from '../../control/kernel/context.js';
import { printInstant } from '../../control/rules/instant.js';
import { createOwnResolver } from '../../roles/process/own-resolver.js';
import { readBundle } from '../../roles/services/certificates.js';
import type { DestinationRow } from '../../store/alerts/destinations.js';
import { WEBHOOK_SECRETS } from '../../store/sealed-columns.js';
import { type Command, type CommandContext, example } from '../command.js';
import { accountOf, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

const SETTINGS = ['dataDir', 'masterKey'] as const;
const REACH = [...SETTINGS, 'allowNetworks', 'resolverUpstreams', 'caBundle'] as const;

interface AccountOption {
  readonly account?: string;
  readonly json?: boolean;
}

interface AddOptions extends AccountOption {
  readonly secret?: string;
  readonly type?: string;
}

export function addWebhookCommands(program: Command, context: CommandContext): void {
  const webhook = program.command('webhook');
  addAdd(webhook, context);
  addList(webhook, context);
  addTest(webhook, context);
  addDeliveries(webhook, context);
  addDelete(webhook, context);
}

function addAdd(webhook: Command, { terminal, environment }: CommandContext): void {
  const add = webhook
    .command('add')
    .description('send events to a URL')
    .argument('<name>', 'name of the webhook')
    .argument('<url>', 'where to send each message by POST')
    .option('--type <type>', 'type of alerts that it gets', 'zoneplane_event')
    .option('--secret <secret>', 'secret that is sent with each message and signs it')
    .option('--account <id>', 'account it belongs to (default: the oldest)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\nTypes:\n${ALERT_TYPES.map(({ type, description }) => `  ${type}: ${description}`).join('\n')}\n${example(
        'zoneplane webhook add chat https://hooks.example.com/dns --type zoneplane_record',
      )}`,
    );
  addSettingOptions(add, REACH).action(async (name: string, url: string, options: AddOptions) => {
    const made = await withControl(add, environment, async (context, _settings, unlock, vaultOf) => {
      if (options.secret !== undefined) await unlock();
      const account = accountOf(context, options);
      const services = { vault: vaultOf(options.secret === undefined ? [] : [WEBHOOK_SECRETS]) };
      const row = await createWebhook(context, services, account, {
        ...{ name, url },
        ...(options.secret !== undefined && { secret: options.secret }),
      });
      const mechanisms = { webhooks: [{ id: toHex(row.id) }] };
      const policy = { name, alert_type: options.type ?? '', enabled: true, mechanisms };
      try {
        await createPolicy(context, { sendsMail: false }, account, policy);
      } catch (error) {
        await deleteWebhook(context, account, toHex(row.id));
        throw error;
      }
      return row;
    });
    if (options.json) terminal.json({ id: toHex(made.id), name: made.name, url: made.address });
    else {
      terminal.print(`added webhook ${made.name}`);
      terminal.print(`Try it with \`zoneplane webhook test ${toHex(made.id)}\`.`);
    }
  });
}

function addList(webhook: Command, { terminal, environment }: CommandContext): void {
  const list = webhook
    .command('list')
    .description('list webhooks and their state')
    .option('--account <id>', 'account they belong to (default: the oldest)')
    .printsJson('zoneplane webhook list');
  addSettingOptions(list, ['dataDir']).action(async (options: AccountOption) => {
    const rows = await withControl(list, environment, (context) => listWebhooks(context, accountOf(context, options)));
    const shown = rows.map((row) => ({
      ...{ id: toHex(row.id), name: row.name, url: row.address, enabled: row.disabled_at === null },
      ...{ state: stateOf(row) },
    }));
    if (options.json) terminal.json(shown);
    else {
      const cells = shown.map(({ id, name, url, state }) => [id, name, url, state]);
      terminal.table(['id', 'name', 'address', 'state'], cells, 'There are no webhooks.');
    }
  });
}

function stateOf({ disabled_at: off, disabled_why: why, failures, last_success: success }: DestinationRow): string {
  if (off !== null) return `off: ${why}`;
  if (failures > 0) return `has failed ${failures} times`;
  return success === null ? 'nothing was sent yet' : `last success ${printInstant(success)}`;
}

function addTest(webhook: Command, { terminal, environment }: CommandContext): void {
  const test = webhook
    .command('test')
    .description('send a test message now, and print the result')
    .argument('<webhook>', 'its name, or its identifier')
    .option('--account <id>', 'account it belongs to (default: the oldest)')
    .printsJson('zoneplane webhook test chat');
  addSettingOptions(test, REACH).action(async (name: string, options: AccountOption) => {
    const result = await withControl(test, environment, async (context, settings, _unlock, vaultOf) => {
      const { clock, egress } = context;
      const account = accountOf(context, options);
      const row = await requireNamed(context, account, name);
      const resolver = createOwnResolver(settings, context);
      const sender = createSender({ clock, egress, resolver, trusted: readBundle(settings.caBundle) });
      const vault = vaultOf(row.secret === null ? [] : [WEBHOOK_SECRETS]);
      try {
        return await testWebhook(context, { vault, sender }, account, toHex(row.id));
      } finally {
        await sender.close();
      }
    });
    const { delivered, status, reason, answer, durationMs } = result;
    if (options.json) terminal.json({ delivered, status, reason, answer, duration_ms: durationMs });
    else if (delivered) terminal.print(`delivered: ${status}, after ${durationMs} ms`);
    else throw new UserError(`the message was not delivered: ${reason}`, 'Use `--json` to see the answer.');
  });
}

function addDeliveries(webhook: Command, { terminal, environment }: CommandContext): void {
  const deliveries = webhook
    .command('deliveries')
    .description('list deliveries to a webhook, the newest first')
    .argument('<webhook>', 'its name, or its identifier')
    .option('--account <id>', 'account it belongs to (default: the oldest)')
    .printsJson('zoneplane webhook deliveries chat');
  addSettingOptions(deliveries, ['dataDir']).action(async (name: string, options: AccountOption) => {
    const rows = await withControl(deliveries, environment, async (context) => {
      const account = accountOf(context, options);
      return listDeliveries(context, account, toHex((await requireNamed(context, account, name)).id));
    });
    const shown = rows.map((row) => ({
      ...{ id: row.message, at: printInstant(row.at_us), alert_type: row.alert_type, attempt: row.attempt },
      ...{ delivered: row.delivered === 1, status: row.status, reason: row.reason, answer: row.answer, body: row.body },
    }));
    if (options.json) terminal.json(shown);
    else {
      const cells = shown.map(({ at, alert_type: type, attempt, status, reason }) => [
        ...[at, type, String(attempt), String(status ?? '–'), reason ?? 'delivered'],
      ]);
      terminal.table(['time', 'about', 'attempt', 'status', 'result'], cells, 'Nothing was sent yet.');
    }
  });
}

function addDelete(webhook: Command, { terminal, environment }: CommandContext): void {
  const remove = webhook
    .command('delete')
    .description('delete a webhook, and the policies that name no other destination')
    .argument('<webhook>', 'its name, or its identifier')
    .option('--account <id>', 'account it belongs to (default: the oldest)')
    .printsJson('zoneplane webhook delete chat');
  addSettingOptions(remove, ['dataDir']).action(async (name: string, options: AccountOption) => {
    const deleted = await withControl(remove, environment, async (context) => {
      const account = accountOf(context, options);
      const row = await requireNamed(context, account, name);
      const id = toHex(row.id);
      for (const { row: policy, destinations } of await listPolicies(context, account)) {
        const isOnly = destinations.length === 1 && toHex(destinations[0]!.id) === id;
        if (isOnly) await deletePolicy(context, account, toHex(policy.id));
      }
      await deleteWebhook(context, account, id);
      return row;
    });
    if (options.json) terminal.json({ id: toHex(deleted.id) });
    else terminal.print(`deleted webhook ${deleted.name}`);
  });
}

async function requireNamed(context: Context, account: string, name: string): Promise<DestinationRow> {
  const found = (await listWebhooks(context, account)).filter((row) => row.name === name || toHex(row.id) === name);
  const [row] = found;
  if (!row) throw new UserError(`there is no webhook ${name}`, 'See them all with `zoneplane webhook list`.');
  if (found.length > 1)
    throw new UserError(`${found.length} webhooks have the name ${name}`, 'Name one by its identifier.');
  return row;
}
