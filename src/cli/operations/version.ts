/** `zoneplane version`. */
import type { Command, CommandContext } from '../command.js';

export function addVersionCommand(program: Command, { terminal, version }: CommandContext): void {
  program
    .command('version')
    .printsJson('zoneplane version --json')
    .action(({ json }: { json?: boolean }) => {
      if (json) terminal.json({ version, node: process.version });
      else terminal.print(version);
    });
}
