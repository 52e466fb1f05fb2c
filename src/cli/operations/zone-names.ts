/**
 * `zoneplane zone-names`: names of zones for the completion of shells. It says nothing else, whatever is wrong: somebody is in the
 * middle of typing a command, and the command itself will say it.
 */
import { openStore } from '../../store/driver.js';
import { zoneNamesFrom } from '../../store/zones/zones.js';
import type { Command, CommandContext } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';

/** Names that are printed at most: more than a terminal can show. */
const MOST = 1000;

export function addZoneNamesCommand(program: Command, { terminal, environment }: CommandContext): void {
  const command = program
    .command('zone-names', { hidden: true })
    .argument('[beginning]', 'what the names begin with', '');
  addSettingOptions(command, ['dataDir']).action((beginning: string) => {
    const names = read(command, environment, beginning.toLowerCase());
    if (names.length > 0) terminal.print(names.join('\n'));
  });
}

/** Nothing when this user may not read the database. */
function read(command: Command, environment: NodeJS.ProcessEnv, beginning: string): string[] {
  try {
    const { settings } = loadCommandSettings(command, environment);
    const store = openStore(settings.dataDir, { readonly: true });
    try {
      return zoneNamesFrom(store, beginning, MOST);
    } finally {
      store.close();
    }
  } catch {
    return [];
  }
}
