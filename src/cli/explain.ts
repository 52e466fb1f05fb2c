/** `zoneplane explain`: why a question is answered as it is. */
import { explain, printExplanation, printPackets } from '../explain/explain.js';
import { explainRoute } from '../hostnames/routing/explain-route.js';
import type { Command, CommandContext } from './command.js';
import { DATA_SETTINGS, withControl } from './control.js';
import { addSettingOptions } from './settings.js';

interface ExplainFlags {
  readonly json?: boolean;
  readonly packet?: boolean;
  readonly clientSubnet?: string;
}

export function addExplainCommand(program: Command, { terminal, environment }: CommandContext): void {
  const command = program
    .command('explain')
    .argument('<name>', 'the name asked for')
    .argument('[type]', 'the type asked for', 'A')
    .option('--client-subnet <network>', 'send this client subnet along (EDNS option, RFC 7871)')
    .option('--packet', 'print question and response octet for octet, too')
    .printsJson('zoneplane explain www.example.com AAAA', 'zoneplane explain www.example.com --packet');
  addSettingOptions(command, [...DATA_SETTINGS, 'nameservers', 'edgeAddresses']).action(
    async (name: string, type: string, { json, packet, clientSubnet }: ExplainFlags) => {
      await withControl(command, environment, async (context) => {
        const explanation = explain(context, name, type, { clientSubnet });
        const edge = explainRoute(context, explanation.name) ?? null;
        if (json) terminal.json({ ...explanation, edge });
        else {
          for (const line of printExplanation(explanation)) terminal.print(line);
          if (packet) for (const line of printPackets(explanation)) terminal.print(line);
          for (const line of edge ? [edge.detail, ...edge.steps] : []) terminal.print(`edge      ${line}`);
        }
      });
    },
  );
}
