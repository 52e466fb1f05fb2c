/** `zoneplane lb explain`: what a load balancer answers, and why. */
import { Option } from 'commander';
import { fromHex } from '../../base/bytes.js';
import { UserError } from '../../base/errors.js';
import { parseInstant } from '../../control/rules/instant.js';
import { type BalancerExplanation, explainBalancer } from '../../explain/balancer.js';
import { surroundingsOf } from '../../roles/process/places.js';
import { findLoadBalancerById } from '../../store/balancing/load-balancers.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, withControl } from '../control.js';
import { addSettingOptions, loadCommandSettings, withRunningSettings } from '../settings.js';
import { balancersOf, requireBalancerNamed } from './find.js';

interface ExplainOptions {
  readonly type: 'A' | 'AAAA';
  readonly from?: string;
  readonly ecs?: string;
  readonly country?: string;
  readonly at?: string;
  readonly json?: boolean;
}

/** The location of the server: that of the running one, unless flags say otherwise. */
const PLACE_SETTINGS = ['region', 'locationCode', 'geoDatabase', 'geoNetworks'] as const;

export function addExplainCommand(lb: Command, { terminal, environment }: CommandContext): void {
  const explain = lb
    .command('explain')
    .description('say what a load balancer answers to a query, and why: which pool, which origin')
    .argument('<name>', 'its name')
    .addOption(new Option('--type <type>', 'what is asked for').choices(['A', 'AAAA']).default('A'))
    .option('--from <address>', 'source address of the query')
    .option('--ecs <network>', 'client subnet of the query (EDNS option, RFC 7871)')
    .option('--country <code>', 'country of the client, instead of the one in the database')
    .option('--at <time>', 'use the settings and health of a moment in the last 30 days (RFC 3339)')
    .printsJson(
      'zoneplane lb explain www.example.org --from 192.0.2.53',
      'zoneplane lb explain www.example.org --ecs 198.51.100.0/24 --at 2026-11-26T08:00:00Z',
    );
  addSettingOptions(explain, [...DATA_SETTINGS, ...PLACE_SETTINGS]).action(
    async (name: string, { type, from, ecs, country, at, json }: ExplainOptions) => {
      const atUs = at === undefined ? undefined : parseInstant(at);
      if (at !== undefined && atUs === undefined) {
        throw new UserError(`${at} is not a time`, 'Write it as 2026-01-31T12:00:00Z.', 2);
      }
      const { settings } = withRunningSettings(loadCommandSettings(explain, environment));
      const found = await withControl(explain, environment, async (context) => {
        const { item } = requireBalancerNamed(name, await balancersOf(context, name));
        const row = findLoadBalancerById(context.store, fromHex(item.id)!)!;
        const question = { type, client: from, subnet: ecs, country, atUs };
        return explainBalancer(context, row, question, surroundingsOf(settings)());
      });
      if (json) {
        const { clientSubnet, ...others } = found;
        terminal.json({ ...others, client_subnet: clientSubnet });
      } else for (const line of linesOf(found)) terminal.print(line);
    },
  );
}

function linesOf({
  name,
  type,
  at,
  policy,
  steps,
  origins,
  rcode,
  answer,
  clientSubnet,
}: BalancerExplanation): string[] {
  return [
    `${name} ${type}, steering ${policy}${at === null ? '' : `, at ${at}`}`,
    ...steps.map((step) => `  ${step}`),
    ...(clientSubnet ? [`  Client subnet ${clientSubnet.asked}: ${clientSubnet.detail}.`] : []),
    ...origins.map((origin) => `  origin  ${origin.name}  ${origin.address}  ${origin.verdict}`),
    `  ${rcode}`,
    ...answer.map((line) => `  answer  ${line.replaceAll('\t', ' ')}`),
  ];
}
