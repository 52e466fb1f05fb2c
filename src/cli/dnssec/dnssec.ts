/** `zoneplane dnssec`: signed zones. */
import type { Command, CommandContext } from '../command.js';
import { addKeyFileCommands } from './key-files.js';
import { addSigningCommands } from './signing.js';
import { addVerifyCommand } from './verify.js';

export function addDnssecCommands(program: Command, context: CommandContext): void {
  const dnssec = program
    .command('dnssec')
    .example(
      'zoneplane dnssec enable example.com',
      'zoneplane dnssec status example.com',
      'zoneplane dnssec rollover example.com zsk',
    );
  addSigningCommands(dnssec, context);
  addKeyFileCommands(dnssec, context);
  addVerifyCommand(dnssec, context);
}
