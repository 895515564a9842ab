import './styles/base.css'
import './styles/prose.css'
import { mount } from 'svelte'
import App from './App.svelte'
import { theme } from './lib/theme.svelte'

// A page that was built anew has other parts: one that is open from before fetches itself again.
window.addEventListener('vite:preloadError', () => location.reload())
theme.apply()
const target = document.getElementById('app')
if (target === null) throw new Error('index.html has no #app')
mount(App, { target })
