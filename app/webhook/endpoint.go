package webhook

const endpointsMax = 20 // of an account
