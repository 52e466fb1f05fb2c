/** `zoneplane version`. */
import type { Command } from 'commander';
import { type CommandContext, example } from '../command.js';

export function addVersionCommand(program: Command, { terminal, version }: CommandContext): void {
  program
    .command('version')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane version --json'))
    .action(({ json }: { json?: boolean }) => {
      if (json) terminal.json({ version, node: process.version });
      else terminal.print(version);
    });
}
