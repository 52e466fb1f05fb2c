/** `zoneplane secondary notify`: the peers of zones are told, and transfer whole zones the next time. */
import { forgetHistory } from '../../control/secondary/outgoing.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, requireZoneNamed, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

export function addNotifyCommand(secondary: Command, { terminal, environment }: CommandContext): void {
  const notify = secondary
    .command('notify')
    .description(
      'tell the peers of zones, which get the whole zone at their next transfer; a zone of which a peer has a newer version gets a newer serial',
    )
    .argument('<zones...>', 'their names')
    .printsJson('zoneplane secondary notify example.com');
  addSettingOptions(notify, DATA_SETTINGS).action(async (names: string[], options: { json?: boolean }) => {
    const told = await withControl(notify, environment, async (context) => {
      const zones = await Promise.all(names.map((name) => requireZoneNamed(context, name)));
      const items = [];
      for (const { id, asciiName } of zones) {
        const { serial } = await forgetHistory(context, id);
        items.push({ zone: asciiName, serial });
      }
      return items;
    });
    if (options.json) terminal.json(told);
    else for (const { zone, serial } of told) terminal.print(`the peers of ${zone} are told of serial ${serial}`);
  });
}
