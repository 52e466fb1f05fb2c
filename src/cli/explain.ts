/** `zoneplane explain`: why a question is answered as it is. */
import type { Command } from 'commander';
import { explain, printExplanation } from '../explain/explain.js';
import { explainRoute } from '../hostnames/routing/explain-route.js';
import { type CommandContext, example } from './command.js';
import { DATA_SETTINGS, withControl } from './control.js';
import { addSettingOptions } from './settings.js';

export function addExplainCommand(program: Command, { terminal, environment }: CommandContext): void {
  const command = program
    .command('explain')
    .description('show which zone and records decide an answer, and the answer itself')
    .argument('<name>', 'the name asked for')
    .argument('[type]', 'the type asked for', 'A')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane explain www.example.com AAAA'));
  addSettingOptions(command, [...DATA_SETTINGS, 'nameservers', 'edgeAddresses']).action(
    async (name: string, type: string, { json }: { json?: boolean }) => {
      await withControl(command, environment, async (context) => {
        const explanation = explain(context, name, type);
        const edge = explainRoute(context, explanation.name) ?? null;
        if (json) terminal.json({ ...explanation, edge });
        else {
          for (const line of printExplanation(explanation)) terminal.print(line);
          for (const line of edge ? [edge.detail, ...edge.steps] : []) terminal.print(`edge      ${line}`);
        }
      });
    },
  );
}
