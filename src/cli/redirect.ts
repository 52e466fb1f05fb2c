/** `zoneplane redirect`: redirects of zones at the edge, and what the rules of a zone do with a URL. */
import { UserError } from '../base/errors.js';
import type { Context } from '../control/kernel/context.js';
import type { RulesetItem } from '../control/rulesets/item.js';
import { addRule, removeRule } from '../control/rulesets/rules.js';
import { createRuleset, getRuleset, listRulesets } from '../control/rulesets/rulesets.js';
import { tryRulesOfZone } from '../control/rulesets/try.js';
import type { ZoneItem } from '../control/zones/item.js';
import { redirectRule } from '../rulesets/from-pattern.js';
import type { Trial } from '../rulesets/try.js';
import type { Command, CommandContext } from './command.js';
import { DATA_SETTINGS, requireZoneNamed, withControl, zoneOfName } from './control.js';
import { addSettingOptions } from './settings.js';
import type { Terminal } from './terminal.js';

const PHASE = 'http_request_dynamic_redirect';

interface AddOptions {
  readonly status: string;
  readonly query: boolean;
  readonly name?: string;
  readonly json?: boolean;
}

export function addRedirectCommands(program: Command, context: CommandContext): void {
  const redirect = program.command('redirect');
  addAdd(redirect, context);
  addList(redirect, context);
  addDelete(redirect, context);
  addTry(redirect, context);
}

async function redirectsOf(context: Context, { id }: ZoneItem): Promise<RulesetItem | undefined> {
  const listed = (await listRulesets(context, id)).find(({ phase }) => phase === PHASE);
  return listed && getRuleset(context, id, listed.id);
}

function addAdd(redirect: Command, { terminal, environment }: CommandContext): void {
  const add = redirect
    .command('add')
    .description('send clients that ask for URLs with a pattern to another URL')
    .argument('<zone>', 'name of the zone, or its identifier')
    .argument('<from>', 'pattern of URLs, in which * stands for any characters')
    .argument('<to>', 'URL; $1 is what the first * stands for')
    .option('--status <code>', 'status: 301, 302, 303, 307 or 308', '301')
    .option('--no-query', 'leave out the query of the request')
    .option('--name <text>', 'name of the redirect')
    .printsJson("zoneplane redirect add example.com 'www.example.com/old/*' 'https://www.example.com/new/$1'");
  addSettingOptions(add, DATA_SETTINGS).action(async (name: string, from: string, to: string, options: AddOptions) => {
    const { status, query: keepsQuery, name: description = from } = options;
    const rule = redirectRule({ from, to, status: Number(status), keepsQuery, description });
    const made = await withControl(add, environment, async (context) => {
      const zone = await requireZoneNamed(context, name);
      const known = await redirectsOf(context, zone);
      const set = known
        ? await addRule(context, zone.id, known.id, { ...rule })
        : await createRuleset(context, zone.id, { name: 'default', phase: PHASE, rules: [rule] });
      return set.rules.at(-1)!;
    });
    if (options.json) terminal.json({ id: made.id, expression: made.expression, ...paramsOf(made) });
    else terminal.print(`added redirect ${made.id}`);
  });
}

const paramsOf = ({ action_parameters: parameters }: { readonly action_parameters?: unknown }) => parameters as object;

function addList(redirect: Command, { terminal, environment }: CommandContext): void {
  const list = redirect
    .command('list')
    .description('list redirects of a zone, in the order in which they are tried')
    .argument('<zone>', 'name of the zone, or its identifier')
    .printsJson('zoneplane redirect list example.com');
  addSettingOptions(list, DATA_SETTINGS).action(async (name: string, { json }: { json?: boolean }) => {
    const set = await withControl(list, environment, async (context) =>
      redirectsOf(context, await requireZoneNamed(context, name)),
    );
    const rules = set?.rules ?? [];
    if (json) terminal.json(rules.map(({ last_updated: _, ...rule }) => rule));
    else {
      const cells = rules.map((rule) => [rule.id, rule.enabled ? 'on' : 'off', rule.expression, targetOf(rule)]);
      terminal.table(['id', 'state', 'when', 'then'], cells, 'There are no redirects.');
    }
  });
}

interface FromValue {
  readonly from_value: {
    readonly status_code?: number;
    readonly target_url: { readonly value?: string; readonly expression?: string };
  };
}

function targetOf({ action_parameters: parameters }: { readonly action_parameters?: unknown }): string {
  const { status_code: status = 301, target_url: target } = (parameters as FromValue).from_value;
  return `${status} to ${target.value ?? target.expression}`;
}

function addDelete(redirect: Command, { terminal, environment }: CommandContext): void {
  const remove = redirect
    .command('delete')
    .description('delete a redirect of a zone')
    .argument('<zone>', 'name of the zone, or its identifier')
    .argument('<id>', 'identifier of the redirect')
    .printsJson('zoneplane redirect delete example.com 0617b3b13890e1c992c101f9e8508ca5');
  addSettingOptions(remove, DATA_SETTINGS).action(async (name: string, id: string, { json }: { json?: boolean }) => {
    await withControl(remove, environment, async (context) => {
      const zone = await requireZoneNamed(context, name);
      const set = await redirectsOf(context, zone);
      if (!set) throw new UserError(`${zone.name} has no redirects.`, 'List them with `zoneplane redirect list`.');
      await removeRule(context, zone.id, set.id, id);
    });
    if (json) terminal.json({ id });
    else terminal.print(`deleted redirect ${id}`);
  });
}

interface TryOptions {
  readonly zone?: string;
  readonly country?: string;
  readonly json?: boolean;
}

function addTry(redirect: Command, { terminal, environment }: CommandContext): void {
  const attempt = redirect
    .command('try')
    .description('show what the rules of a zone do with a URL; nothing is sent')
    .argument('<url>', 'URL that a client asks for')
    .option('--zone <name>', 'zone whose rules apply (default: that of the host)')
    .option('--country <code>', 'country of the client, two letters')
    .printsJson('zoneplane redirect try https://www.example.com/old/page');
  addSettingOptions(attempt, DATA_SETTINGS).action(async (url: string, { zone: name, country, json }: TryOptions) => {
    const trial = await withControl(attempt, environment, async (context) => {
      const zone = await (name === undefined ? zoneOfName(context, hostOf(url)) : requireZoneNamed(context, name));
      const request = { url, method: 'GET', headers: [], client: '192.0.2.1', country, status: 200 };
      return tryRulesOfZone(context, zone.id, request);
    });
    if (json) terminal.json(trial);
    else printTrial(terminal, url, trial);
  });
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : url);

function printTrial(terminal: Terminal, url: string, { redirect, isLoop, target, applied }: Trial): void {
  if (redirect) terminal.print(`${url} → ${redirect.status} to ${redirect.location}`);
  else terminal.print(`${url} → the origin gets ${target}`);
  if (isLoop) terminal.print('The redirects of this zone go in a circle.');
  for (const { phase, id, description } of applied) terminal.print(`  ${phase}: ${description || id || 'on'}`);
  if (applied.length === 0) terminal.print('  no rule matches');
}
