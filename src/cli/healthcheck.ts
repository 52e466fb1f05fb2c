/** `zoneplane healthcheck`: does the server answer HTTP and DNS? For container health checks and load balancers. */
import { Option } from 'commander';
import { SystemClock } from '../base/clock.js';
import type { Settings } from '../config/schema.js';
import { reachableHost } from '../roles/announce.js';
import { checkHealth, type HealthTarget } from '../roles/health.js';
import { hasDatabase, readRunning } from '../roles/process/data-directory.js';
import { openStore } from '../store/driver.js';
import { schemaVersion } from '../store/migrate.js';
import { findZone, servedZones } from '../store/zones/zones.js';
import { wholeNumber } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { addSettingOptions, loadCommandSettings } from './settings.js';

const DEFAULT_TIMEOUT_MS = 3000;
const ADDRESS_SETTINGS = ['adminHost', 'adminPort', 'dnsHost', 'dnsPort'] as const;

export function addHealthcheckCommand(program: Command, { terminal, environment }: CommandContext): void {
  const healthcheck = program
    .command('healthcheck')
    .addOption(
      new Option('--timeout <milliseconds>', 'time limit for each answer')
        .argParser(wholeNumber(1, 600_000, 'milliseconds'))
        .default(DEFAULT_TIMEOUT_MS),
    )
    .printsJson('zoneplane healthcheck --timeout 1000');
  addSettingOptions(healthcheck, ['dataDir', ...ADDRESS_SETTINGS]).action(
    async ({ timeout, json }: { timeout: number; json?: boolean }) => {
      const { settings, origins } = loadCommandSettings(healthcheck, environment);
      const named = ADDRESS_SETTINGS.some((key) => origins[key].kind === 'flag');
      const findings = await checkHealth(healthTarget(settings, named), new SystemClock(), timeout);
      if (json) terminal.json(findings);
      else for (const { what, ok, text } of findings) terminal.print(`${ok ? 'ok' : 'FAIL'}  ${what}  ${text}`);
      terminal.exitCode = findings.every(({ ok }) => ok) ? 0 : 1;
    },
  );
}

/** Where the server of a data directory is: as it says itself, else as the settings say; `named`: as the settings say. */
export function healthTarget(settings: Settings, named = false): HealthTarget {
  const running = named ? undefined : readRunning(settings.dataDir);
  const listener = running?.dns.find(({ protocol }) => protocol === 'udp');
  const adminHost = reachableHost(settings.adminHost);
  const adminUrl = `http://${adminHost.includes(':') ? `[${adminHost}]` : adminHost}:${settings.adminPort}`;
  return {
    adminUrl: running?.adminUrl || adminUrl,
    dns: {
      host: reachableHost(listener?.host ?? settings.dnsHost[0]!),
      port: listener?.port ?? settings.dnsPort ?? 53,
    },
    zone: firstServedZone(settings.dataDir),
  };
}

function firstServedZone(dataDir: string): string | undefined {
  if (!hasDatabase(dataDir)) return undefined;
  const store = openStore(dataDir, { readonly: true });
  try {
    // A server that starts for the first time may not have made its tables yet.
    if (schemaVersion(store) === 0) return undefined;
    const [first] = servedZones(store);
    return first === undefined ? undefined : findZone(store, first)?.name;
  } finally {
    store.close();
  }
}
