/** A device for passkeys that the browser has built in. */
import type { Page } from 'playwright-core';

/** It says yes whenever it is asked, as if somebody touched it. */
export async function addAuthenticator(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
}

/**
 * In the documents to come, the person takes no passkey that a field suggests: the question stays open until the page ends it, and
 * `data-offered` of the document says that it was asked. Without this, how far the browser has come with the question of the field
 * decides whether the device answers that or the button.
 */
export async function leaveSuggestions(page: Page): Promise<void> {
  await page.addInitScript(`{
    const get = navigator.credentials?.get.bind(navigator.credentials);
    if (get) navigator.credentials.get = (options) => {
      if (options?.mediation !== 'conditional') return get(options);
      document.documentElement.dataset.offered = 'yes';
      const { signal } = options;
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
  }`);
}
