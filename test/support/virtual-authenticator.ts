/** A device for passkeys that the browser has built in. */
import type { Page } from 'playwright-core';

/** It says yes while somebody is there. Returns what says whether somebody is. */
export async function addAuthenticator(page: Page): Promise<(isPresent: boolean) => Promise<void>> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
  return async (enabled) => {
    await session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
  };
}
