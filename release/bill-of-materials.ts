/** The bill of materials of a release, in CycloneDX, as npm makes it from the lock file, but reproducible. */
import { createHash } from 'node:crypto';
import { run } from './programs.js';

interface Bill {
  serialNumber?: string;
  readonly metadata: { timestamp?: string };
}

/** `directory`: one with package.json and package-lock.json. `epoch`: seconds since 1970. */
export function billOfMaterials(directory: string, epoch: number): string {
  const text = run('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--omit=dev'], { cwd: directory });
  const bill = JSON.parse(text) as Bill;
  delete bill.serialNumber;
  bill.metadata.timestamp = new Date(epoch * 1000).toISOString();
  const sum = createHash('sha256').update(JSON.stringify(bill)).digest('hex');
  // A serial number derived from the content (RFC 9562, version 8).
  const uuid = `${sum.slice(0, 8)}-${sum.slice(8, 12)}-8${sum.slice(13, 16)}-8${sum.slice(17, 20)}-${sum.slice(20, 32)}`;
  return `${JSON.stringify({ ...bill, serialNumber: `urn:uuid:${uuid}` }, null, 2)}\n`;
}
