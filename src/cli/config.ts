/** `zoneplane config`: what the settings are, and where each comes from. */
import { describeSettings, printValue } from '../config/describe.js';
import { SETTINGS } from '../config/schema.js';
import type { Command, CommandContext } from './command.js';
import { addSettingOptions, loadCommandSettings } from './settings.js';

export function addConfigCommands(program: Command, { terminal, environment }: CommandContext): void {
  const config = program.command('config');

  const show = config
    .command('show')
    .description('print the value of every setting')
    .option('--origin', 'print where each value comes from')
    .printsJson('zoneplane config show --origin', 'zoneplane config show --json --config zp.yaml');
  addSettingOptions(show).action(({ origin, json }: { origin?: boolean; json?: boolean }) => {
    const { settings, origins } = loadCommandSettings(show, environment);
    const rows = SETTINGS.map((setting) => ({
      name: setting.name,
      value: printValue(setting, settings[setting.key]),
      origin: origins[setting.key],
    }));
    if (json)
      return terminal.json(
        Object.fromEntries(
          rows.map((row) => [row.name, origin ? { value: row.value, origin: row.origin } : row.value] as const),
        ),
      );
    const headers = origin ? ['setting', 'value', 'origin'] : ['setting', 'value'];
    const cells = rows.map((row) => [row.name, row.value, ...(origin ? [row.origin.place] : [])]);
    terminal.table(headers, cells, 'no settings');
  });

  config
    .command('reference')
    .description('print the reference of all settings, in Markdown')
    .example('zoneplane config reference')
    .action(() => terminal.print(describeSettings()));
}
