/** `zoneplane secondary`: other servers that serve our zones. */
import type { Command, CommandContext } from '../command.js';
import { addAddCommand } from './add.js';
import { addCatalogCommands } from './catalog.js';
import { addNotifyCommand } from './notify.js';
import { addPrintCommand } from './print.js';
import { addStatusCommand } from './status.js';

export function addSecondaryCommands(program: Command, context: CommandContext): void {
  const secondary = program.command('secondary');
  addAddCommand(secondary, context);
  addPrintCommand(secondary, context);
  addStatusCommand(secondary, context);
  addNotifyCommand(secondary, context);
  addCatalogCommands(secondary, context);
}
