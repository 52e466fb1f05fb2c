/** Where browsers reach the dashboard, for links that commands print. */
import { UserError } from '../../base/errors.js';
import { reachableHost } from '../../roles/announce.js';
import { readRunning } from '../../roles/process/data-directory.js';

/** Settings that say where the dashboard is. */
export const DASHBOARD_SETTINGS = ['dataDir', 'adminHost', 'adminPort', 'adminTlsPort', 'publicUrl'] as const;

/** The option `--url` without final slashes. Throws a UserError for what is not an address. */
export function readAddress(url: string | undefined): string | undefined {
  if (url !== undefined && !/^https?:\/\/[^/]/.test(URL.canParse(url) ? url : '')) {
    throw new UserError(`--url=${url}: expected an address such as https://dns.example.org`, undefined, 2);
  }
  return url?.replace(/\/+$/, '');
}

interface Place {
  readonly dataDir: string;
  readonly adminHost: string;
  readonly adminPort: number;
  readonly adminTlsPort?: number | undefined;
  readonly publicUrl?: string | undefined;
}

/** The public address if there is one; otherwise over TLS where that listens; otherwise as the server that runs says, which may have been started with other flags. */
export function addressOf({ dataDir, adminHost, adminPort, adminTlsPort, publicUrl }: Place): string {
  if (publicUrl !== undefined) return publicUrl;
  const host = reachableHost(adminHost);
  const place = host.includes(':') ? `[${host}]` : host;
  if (adminTlsPort !== undefined) return `https://${place}:${adminTlsPort}`;
  return readRunning(dataDir)?.adminUrl || `http://${place}:${adminPort}`;
}
