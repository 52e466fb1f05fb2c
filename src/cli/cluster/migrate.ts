/** `zoneplane cluster migrate`: the schema of this program for all nodes, although some do not know it. */
import { SystemClock } from '../../base/clock.js';
import { silentLogger } from '../../base/log.js';
import { openCopyOfCommand } from '../../roles/cluster/member.js';
import { findDataDirectory } from '../../roles/process/data-directory.js';
import { schemaVersion } from '../../store/migrate.js';
import { type Command, type CommandContext, example } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';
import { CLUSTER_SETTINGS, requireClusterUrl } from './connect.js';

export function addMigrate(cluster: Command, { terminal, environment }: CommandContext): void {
  const migrate = cluster
    .command('migrate')
    .description('migrate the database of all nodes now, without waiting for nodes with an older version')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane cluster migrate')}

Nodes do that by themselves as soon as all that live know the schema. Those that do not know it then serve what they
have, and take no writes until they are upgraded.`,
    );
  addSettingOptions(migrate, CLUSTER_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const { settings } = loadCommandSettings(migrate, environment);
    const url = requireClusterUrl(settings);
    findDataDirectory(settings.dataDir);
    const { store, log } = await openCopyOfCommand(settings, url, new SystemClock(), silentLogger(), {
      migrates: 'now',
    });
    const schema = schemaVersion(store);
    store.close();
    await log.close();
    if (json) terminal.json({ schema });
    else terminal.print(`the database of the cluster has schema version ${schema}`);
  });
}
