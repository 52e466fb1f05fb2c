/** `zoneplane dnssec`: signed zones. */
import type { Command } from 'commander';
import type { CommandContext } from '../command.js';
import { addVerifyCommand } from './verify.js';

export function addDnssecCommands(program: Command, context: CommandContext): void {
  const dnssec = program.command('dnssec').description('verify signed zone files');
  addVerifyCommand(dnssec, context);
}
