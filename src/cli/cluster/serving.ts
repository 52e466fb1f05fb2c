/** `zoneplane cluster settings`: the settings that all nodes serve with. */
import { SystemClock } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { silentLogger } from '../../base/log.js';
import { applyServing, compareServing, type ServingSetting } from '../../roles/cluster/serving.js';
import { sayCommitted } from '../../roles/process/acknowledgement.js';
import { createControlBase, zoneKeysOfCommand } from '../../roles/process/control-base.js';
import { findDataDirectory } from '../../roles/process/data-directory.js';
import { type Command, type CommandContext, example } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';
import type { Terminal } from '../terminal.js';
import { CLUSTER_SETTINGS, requireClusterUrl } from './connect.js';
import { openForCommand } from './open-store.js';

const SERVING_SETTINGS = [...CLUSTER_SETTINGS, 'nameservers', 'nameserverAddresses', 'edgeAddresses'] as const;

export function addSettings(cluster: Command, { terminal, environment }: CommandContext): void {
  const settings = cluster
    .command('settings')
    .description('show name servers, their addresses and those of the edge, with which all nodes serve, or change them')
    .option('--apply', 'make what is set here the settings of all nodes')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane cluster settings', 'zoneplane cluster settings --apply --edge-addresses 192.0.2.1,192.0.2.2')}

All nodes answer with the settings of the cluster, whatever is set on a machine. Only what is set here is applied, by a
flag, the environment or a file; defaults are not. The nodes replace their processes by themselves, and answer meanwhile.`,
    );
  addSettingOptions(settings, SERVING_SETTINGS).action(async ({ apply, json }: { apply?: boolean; json?: boolean }) => {
    const loaded = loadCommandSettings(settings, environment);
    requireClusterUrl(loaded.settings);
    const { dataDir } = loaded.settings;
    findDataDirectory(dataDir);
    const clock = new SystemClock();
    const told: Promise<void>[] = [];
    const { store, close } = await openForCommand(loaded.settings, clock, () => told.push(sayCommitted(dataDir)));
    try {
      if (apply) {
        const keys = zoneKeysOfCommand(loaded, store);
        await applyServing(loaded, createControlBase(loaded.settings, store, clock, silentLogger(), keys));
      }
      const compared = compareServing(loaded, store);
      if (!compared) {
        throw new UserError(
          'the cluster has no serving settings yet',
          'They are those of the node with the admin API that is started first. After an interrupted change, run this with --apply.',
        );
      }
      if (json) terminal.json(viewOf(compared));
      else show(compared, terminal);
    } finally {
      await close();
      await Promise.all(told);
    }
  });
}

const viewOf = (compared: readonly ServingSetting[]): object =>
  compared.map(({ name, ofCluster, here, isSet }) => ({
    setting: name,
    cluster: ofCluster,
    here: isSet ? here : null,
  }));

function show(compared: readonly ServingSetting[], terminal: Terminal): void {
  terminal.table(
    ['setting', 'all nodes', 'set here'],
    compared.map(({ name, ofCluster, here, isSet }) => [
      name,
      ofCluster.join(', ') || '-',
      isSet ? here.join(', ') || '-' : 'no',
    ]),
    '',
  );
}
