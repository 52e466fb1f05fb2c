/** Ports in configurations. */
import { faultAt, type Place } from './place.js';

export function readPort(text: string, place: Place): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) throw faultAt(place, `${text} is not a port`);
  return port;
}
